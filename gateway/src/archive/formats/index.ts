// The formats that sessions are read from, the most particular first: a file is in the first that recognises one of its records.
import type { Fields, Format, Source } from '../session.ts';
import { claudeCode } from './claude-code.ts';
import { cm } from './cm.ts';
import { codex } from './codex.ts';
import { geminiCli } from './gemini-cli.ts';
import { json } from './json.ts';
import { jsonl } from './jsonl.ts';

const formats: readonly Format[] = [claudeCode, codex, geminiCli, cm, jsonl, json];

export const formatOf = (records: readonly Fields[]): Format | undefined =>
  formats.find((format) => records.some((record) => format.recognises(record)));

export const formatNamed = (name: Source): Format => formats.find((format) => format.name === name)!;
