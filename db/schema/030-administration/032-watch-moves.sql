-- Each step of a move is audited in the database where it happens, and the gateways reload whom they serve.
create trigger _500_audit after insert or update on identity.tenant_moves
  for each row execute function administration.tg__audit_identity('', 'state', 'move_id', 'cell');
create trigger _900_notify after insert or update or delete on identity.tenant_moves
  for each statement execute function administration.tg__notify('l9_identity');
