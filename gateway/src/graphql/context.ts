// What the plans of the schema get from the context of a request. A schema is of a catalogue and holds nothing of a gateway, so that
// gateways may share it: all that a plan needs of the gateway that answers comes from here.
import { access, context } from 'postgraphile/grafast';
import type { GraphQLError } from 'postgraphile/graphql';
import type { Identity } from '../auth/identity.ts';
import type { GatewayHealth } from '../metrics/gateway-health.ts';
import type { ExecuteOperation } from '../operations/execute.ts';
import type { Inferred } from '../operations/inferred-project.ts';

export interface AnsweringGateway {
  execute: ExecuteOperation;
  health: Pick<GatewayHealth, 'read'>;
  /** Gets the errors of failed operations, which have their audit rows already. */
  onRefused(identity: Identity, error: GraphQLError): void;
  /** Gets what the working copy of the client decided about the operation behind a field. */
  onInferred(identity: Identity, field: string, inferred: Inferred): void;
}

declare global {
  namespace Grafast {
    interface Context {
      identity: Identity;
      gateway: AnsweringGateway;
    }
  }
}

export const identityOf = () => access<Identity>(context(), 'identity');
export const gatewayOf = () => access<AnsweringGateway>(context(), 'gateway');
