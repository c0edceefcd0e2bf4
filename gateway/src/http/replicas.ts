// Where replicas are read: the header X-L9-Lsn, by which a client of several gateways finds what it wrote through another one.
import type { RequestHandler } from 'express';
import { currentRequest } from '../base/logger.ts';
import { LSN_HEADER, parseLsn } from '../database/lsn.ts';

/** An answer to a write says where the log is after it. A request that sends this back finds what was written up to there. */
export const readYourWrites: RequestHandler = (request, response, next) => {
  const current = currentRequest();
  const after = request.get(LSN_HEADER);
  if (current && after && parseLsn(after) !== null) current.readsAfter = after;
  if (current)
    current.onWritten = (lsn) => {
      current.written = lsn;
      if (!response.headersSent) response.setHeader(LSN_HEADER, lsn);
    };
  next();
};
