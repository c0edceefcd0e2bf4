-- The embedding models, and which of them serves. Functions for jobs change their state; searches compare vectors of
-- the model that serves.
create function embeddings.max_dimensions() returns integer language sql immutable parallel safe return 1536;
comment on function embeddings.max_dimensions is 'Dimensions of every vector; smaller models'' are padded with zeros.';

create function embeddings.is_model_name(name text) returns boolean language sql immutable parallel safe
return name ~ '^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,99}$';
comment on function embeddings.is_model_name is 'True for 1 to 100 letters, digits or ._/:@- that begin with a letter or digit.';
grant execute on function embeddings.max_dimensions to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant execute on function embeddings.is_model_name to l9_worker;

create table public.embedding_models (
  model text primary key,
  dimensions integer not null,
  created_at timestamptz not null default now(),
  state text,
  state_since timestamptz,
  relevance_midpoint real not null,
  relevance_slope real not null,
  relevance_word_slope real not null default 2,
  constraint embedding_model_plain check (embeddings.is_model_name(model)),
  constraint embedding_dimensions_fit check (dimensions between 1 and embeddings.max_dimensions()),
  constraint embedding_relevance_rises check (
    relevance_midpoint between -1 and 1 and relevance_slope > 0 and relevance_word_slope >= 0),
  constraint embedding_state_known check (state in ('serving', 'arriving', 'leaving')),
  constraint embedding_state_dated check ((state is null) = (state_since is null)),
  -- The constraint is deferred so that the switch can be one update of two rows.
  constraint embedding_state_one_each exclude using btree (state with =) where (state in ('serving', 'arriving'))
    deferrable initially deferred
);
call identity.describe('public.embedding_models', 'Embedding models whose vectors are stored. A search compares vectors of one
    model only.
  model: Name of the model. Each of its vectors carries this name.
  created_at: Time when the model was registered.
  dimensions: Number of dimensions of the model, at most 1536. Its vectors are padded with zeros to 1536 dimensions, which does
    not change cosine similarities.
  state: serving: searches compare the vectors of this model; arriving: memories are also embedded with this model, so that it can
    serve later; leaving: the vectors of this model are being deleted; null: none of these.
  state_since: Time when the model entered its state.
  relevance_midpoint: The cosine similarity of a query and a memory that means a relevance of 0.5, if the memory has a fifth of
    the words of the query.
  relevance_slope: How fast relevance rises with similarity, among 500 memories or more: relevance is 1 / (1 +
    exp(-relevance_slope * (similarity - relevance_midpoint) - relevance_word_slope * (share - 0.2))).
  relevance_word_slope: How fast relevance rises with the share of the words of the query that the memory has.');

alter table public.embedding_models enable row level security, force row level security;

create policy scope_access on public.embedding_models for select to l9_agent, l9_admin, l9_platform_admin, l9_worker using (true);
create policy worker_access on public.embedding_models for update to l9_worker using (true);
create policy definer_functions on public.embedding_models to l9_owner using (true);
comment on policy scope_access on public.embedding_models is 'The list of models is not secret.';
comment on policy worker_access on public.embedding_models is 'Jobs change from one model to another.';
comment on policy definer_functions on public.embedding_models is 'register_embedding_model() inserts rows, and '
  'drop_embedding_model() deletes them.';
grant select on public.embedding_models to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant update (state, state_since) on public.embedding_models to l9_worker;

create trigger _900_notify after insert or update or delete on public.embedding_models
  for each statement execute function administration.tg__notify('l9_embedding_models');

create function embeddings.serving_model() returns text language sql stable parallel safe set search_path = ''
return (select m.model from public.embedding_models m where m.state = 'serving');
comment on function embeddings.serving_model is 'The model that searches compare; null before the first gateway.';
grant execute on function embeddings.serving_model to l9_agent, l9_admin, l9_platform_admin, l9_worker;
