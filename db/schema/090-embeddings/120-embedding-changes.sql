-- How many memories the present change of the embedding model began with. `l9-memory reembed` and the metrics show
-- its progress by it.
create table embeddings.embedding_changes (
  model text primary key references public.embedding_models on delete cascade,
  began_at timestamptz not null default now(),
  memories_to_embed bigint not null,
  constraint embedding_change_not_negative check (memories_to_embed >= 0)
);
call identity.describe('embeddings.embedding_changes', 'Size of the model change that is under way. It is a table of its own
    because it counts the memories of all tenants, and callers may read embedding_models.
  model: The model that arrives.
  began_at: Time when the change began.
  memories_to_embed: Number of memories that had no vector of this model when the change began.');

call identity.keep_private('embeddings.embedding_changes',
  jobs => 'Jobs change from one model to another.',
  functions => 'drop_embedding_model() deletes the row of its model.');

grant select, insert (model, memories_to_embed), update (memories_to_embed), delete on embeddings.embedding_changes to l9_worker;
