// What a program gets that imports `l9-memory`: it runs the server inside itself. The types of the rest are in dist/types, too.
export { signToken, type TokenRequest } from './auth/jwt.ts';
export { createLogger } from './base/logger.ts';
export { type Config, loadConfig } from './config/config.ts';
export { type Gateway, type GatewayOptions, startGateway } from './gateway.ts';
export { type Credentials, loadCredentials } from './home/credentials.ts';
export { takeHome } from './home/examine.ts';
