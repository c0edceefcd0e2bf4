import { ConfigError } from '../../config/config.ts';

/** Why a tenant can't be exported, imported or moved: the cause and the way out. */
export class TenantProblem extends ConfigError {}
