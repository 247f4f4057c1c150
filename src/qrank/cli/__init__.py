"""The ``qrank`` command: reads options, calls the library, shows what it says; no mathematics here."""
