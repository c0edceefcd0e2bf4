-- Checks the values of a summary. save_summary() and store_summary() call it before they save, and
-- store_summary_row() once more as the owner.
create function summaries.check_summary(scope_type text, scope_value text, summary_text text, key_facts text[],
  key_entities text[], key_decisions text[], confidence double precision) returns void
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  perform reflection.check_choice(scope_type, summaries.scope_types(), 'scope_type');
  if scope_value is null or identity.is_blank(scope_value) then
    perform identity.raise_error('L9VAL', 'scope_value: required, the id or name of the thread, agent, topic, …');
  elsif summary_text is null or identity.is_blank(summary_text) then
    perform identity.raise_error('L9VAL', 'summary_text: must not be blank');
  end if;
  perform identity.check_bytes(scope_value, summaries.max_subject_bytes(), 'scope_value'),
    identity.check_bytes(summary_text, 262144, 'summary_text');
  perform entities.check_confidence(confidence);
  perform reflection.check_texts(key_facts, 'key_facts');
  perform reflection.check_texts(key_entities, 'key_entities');
  perform reflection.check_texts(key_decisions, 'key_decisions');
end $$;
comment on function summaries.check_summary is 'Raises L9VAL or L9LIM, naming the field, for values that a summary can''t have.';
grant execute on function summaries.check_summary to l9_agent, l9_admin, l9_worker;
grant execute on function reflection.check_texts to l9_worker;
