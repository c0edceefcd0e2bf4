-- Registers facts among the tables whose rows name entities. entities.is_disputed() reads that list to tell whether
-- an alias counts for a reader.

-- Facts name entities, so they decide for whom an alias counts.
insert into entities.tables_with_names (table_name, key_column, evidence_table, name_columns)
values ('knowledge_facts', 'fact_id', 'fact_evidence', '{subject_normalized,object_normalized}');
