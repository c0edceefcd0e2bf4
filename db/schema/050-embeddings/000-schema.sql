create schema embeddings;
comment on schema embeddings is
  'Embedding models, vectors, and the queues of memories that wait for vectors. Not exposed over GraphQL; callers '
  'may execute only the functions that are granted to them one by one.';
grant usage on schema embeddings to l9_agent, l9_admin, l9_platform_admin, l9_worker;
