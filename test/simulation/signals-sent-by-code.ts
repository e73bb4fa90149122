/** Signals that the code of a run may send. The name and payload of each signal follow from the run and the step. */
import { createHash } from 'node:crypto';
import type { RunAddress } from '../../lib/engine/ids.ts';
import type { CodeWorkflow, Part } from './random-code.ts';
import type { SignalSend } from './signal-checker.ts';

export const signalsSentByCode = (run: RunAddress, { part }: CodeWorkflow): readonly SignalSend[] =>
  sendings(part, '0').map(({ path, place }) => ({
    ...place,
    scope: run,
    signalId: `sig_${createHash('sha256').update(`${run.runId}/send-${path}`).digest('base64url')}`,
    payload: path,
  }));

interface Sent {
  readonly path: string;
  readonly place: Extract<Part, { kind: 'send' }>['place'];
}

/** As `play` in random-code.ts names them. */
function sendings(part: Part, path: string): readonly Sent[] {
  if (part.kind === 'send') return [{ path, place: part.place }];
  return 'parts' in part ? part.parts.flatMap((each, index) => sendings(each, `${path}.${index}`)) : [];
}
