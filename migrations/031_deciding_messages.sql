-- compatible-from: 16
-- A message that its platform brings again decides nothing more, also once the turn that it decided about has ended.

-- Of all questions: statistics of an index of some would not be used.
create index turn_questions_message on turn_questions ((question ->> 'message'));
