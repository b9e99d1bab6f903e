"""Where a schedule meets a topology: closed forms, the stepped timer, the prediction everyone calls."""
