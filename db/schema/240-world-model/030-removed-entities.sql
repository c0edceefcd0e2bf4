-- The last versions of entities that were removed. A trigger of world_model_entities writes it; recompute_world() and
-- merge_into_entity() read it when an entity comes back.
create table world_model.removed_entities (
  audience_id uuid not null references world_model.worlds,
  entity_key text not null,
  version integer not null,
  primary key (audience_id, entity_key)
);
alter table world_model.removed_entities alter column entity_key set statistics 0;
call identity.describe('world_model.removed_entities', 'The last version of each removed entity, kept while an update still names
    the entity: if the entity comes back, its version numbers continue.
  entity_key: The name of the entity, normalised as in entity_id_normalized.
  version: The last version that the entity had.');
call identity.keep_private('world_model.removed_entities',
  functions => 'Only functions of the owner read and write it; they take the world from a memory that the caller may read.');
