// Imported before PostGraphile: without this variable Grafast warns at every start.
process.env.GRAPHILE_ENV ??= process.env.NODE_ENV === 'development' ? 'development' : 'production';
