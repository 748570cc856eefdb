"""Drawing of plots into SVG, with Matplotlib."""
