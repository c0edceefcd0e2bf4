/** The settings can't be used. */
export class ConfigError extends Error {}
