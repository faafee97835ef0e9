"""What tensors lie in: whose memory it is, who writes to it, in which order the elements stand, and what they were before."""
