// Refusals of what is no call of a tool, as errors of JSON-RPC. Their texts are those that tools answer with.
import { INVALID_PARAMS, ProtocolError, ResourceNotFoundError } from '@modelcontextprotocol/server';
import { KnownError, mcpText, type PublicError } from '../base/errors.ts';
import { CallRefused } from './calls.ts';

const REFUSED = -32000;

export const asProtocolError = (error: PublicError): ProtocolError =>
  new ProtocolError(error.sqlstate === 'L9VAL' ? INVALID_PARAMS : REFUSED, mcpText(error));

/** The error of a resource: what is not there and what is not the caller's are never told apart. */
export const asResourceError = (uri: string, error: PublicError): ProtocolError =>
  error.sqlstate === 'L9OWN' ? new ResourceNotFoundError(uri, mcpText(error)) : asProtocolError(error);

export const invalid = (field: string, reason: string): KnownError =>
  new KnownError('L9VAL', `${field}: ${reason}`, field);

/** What the work returns. A refusal of a call within it becomes an error of JSON-RPC. */
export async function orProtocolError<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof CallRefused ? asProtocolError(error.error) : error;
  }
}
