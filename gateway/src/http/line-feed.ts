// Ends every answer of JSON with a line feed, so that a shell's prompt starts on a line of its own after curl.
import type { OutgoingHttpHeaders } from 'node:http';
import type { RequestHandler, Response } from 'express';

const PARTIAL_CONTENT = 206;
const isJson = (response: Response) =>
  /[/+]json\b/.test(String(response.getHeader('content-type') ?? '')) && response.statusCode !== PARTIAL_CONTENT;

/** Wraps the methods of the response, because GraphQL and MCP are answered by libraries that write it themselves. */
export const endJsonWithLineFeed: RequestHandler = (_request, response, next) => {
  const { writeHead, write, end } = response;
  let isWritten = false;
  response.writeHead = ((status: number, ...others: unknown[]) => {
    response.statusCode = status;
    const headers = others.find((one): one is OutgoingHttpHeaders => typeof one === 'object' && !Array.isArray(one));
    for (const [name, value] of Object.entries(headers ?? {})) if (value !== undefined) response.setHeader(name, value);
    const length = Number(response.getHeader('content-length') ?? 0);
    if (length > 0 && isJson(response)) response.setHeader('content-length', length + 1);
    const rest = others.filter((one) => one !== headers);
    return writeHead.call(response, status, ...(rest as []));
  }) as typeof writeHead;
  response.write = ((...given: Parameters<typeof write>) => {
    isWritten = true;
    return write.apply(response, given);
  }) as typeof write;
  response.end = ((chunk?: unknown, ...others: unknown[]) => {
    const body = typeof chunk === 'string' || chunk instanceof Uint8Array ? chunk : '';
    if ((body.length === 0 && !isWritten) || !isJson(response)) return end.apply(response, [chunk, ...others] as never);
    const ended = typeof body === 'string' ? `${body}\n` : Buffer.concat([body, Buffer.from('\n')]);
    return end.apply(response, [ended, ...(typeof chunk === 'function' ? [chunk] : []), ...others] as never);
  }) as typeof end;
  next();
};
