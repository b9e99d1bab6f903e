"""Units, errors, sources and the hardware table: what every other part stands on."""
