"""Drawing of plots into PNG files, with Matplotlib."""
