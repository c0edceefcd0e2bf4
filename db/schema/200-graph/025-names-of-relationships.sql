-- Registers relationships among the tables whose rows name entities. entities.is_disputed() reads that list to tell
-- whether an alias counts for a reader.
insert into entities.tables_with_names (table_name, key_column, evidence_table, name_columns)
values ('entity_relationships', 'relationship_id', 'relationship_evidence', '{source_normalized,target_normalized}');
