// Where replicas are read, the answer to a mutation says where the write-ahead log is after it.
import { currentRequest } from '../../base/logger.ts';
import type { Edit } from './answers.ts';

export const addLsn: Edit = (answer) => {
  const lsn = currentRequest()?.written;
  return lsn ? { ...answer, json: { ...answer.json, extensions: { ...answer.json.extensions, lsn } } } : answer;
};
