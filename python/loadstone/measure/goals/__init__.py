"""What a run is to answer: of each kind of question, what is measured next and when it is answered."""
