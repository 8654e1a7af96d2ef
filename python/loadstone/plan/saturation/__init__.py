"""Where conditions saturate: what is planned of it, before and while it is measured."""
