-- How many memories the present change of the embedding model began with. `l9-memory reembed` and the metrics show
-- its progress by it.

create table embeddings.embedding_changes (
  model text primary key references public.embedding_models on delete cascade,
  began_at timestamptz not null default now(),
  memories_to_embed bigint not null,
  constraint embedding_change_not_negative check (memories_to_embed >= 0)
);
comment on table embeddings.embedding_changes is 'Size of the model change that is under way. It is a table of its own because '
  'it counts the memories of all tenants, and callers may read embedding_models.';
comment on column embeddings.embedding_changes.model is 'The model that arrives.';
comment on column embeddings.embedding_changes.began_at is 'Time when the change began.';
comment on column embeddings.embedding_changes.memories_to_embed is 'Number of memories that had no vector of this model when '
  'the change began.';

call identity.keep_private('embeddings.embedding_changes',
  jobs => 'Jobs change from one model to another.',
  functions => 'drop_embedding_model() deletes the row of its model.');

grant select, insert (model, memories_to_embed), update (memories_to_embed), delete on embeddings.embedding_changes to l9_worker;
