"""No Pipecat, but what the example needs of its names, where Pipecat cannot be installed."""
