/** What travels between this process and the thread of a deployment of code. What the thread says is parsed. */
import * as z from 'zod';
import type { History, StepResult, TurnAnswer } from '../engine/durable/turn.ts';
import type { DeploymentId } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { DriveTask } from '../ports/programs.ts';
import { answerLimits } from './answer-limits.ts';

/** What the thread is started with. */
export interface ProgramThreadData {
  readonly deploymentId: DeploymentId;
  /** file URL of the module that exports `workflows` */
  readonly program: string;
}

export type ToProgram = { readonly drive: number } &
  /** `lent` goes into the thread's variables first */
  (
    | { readonly kind: 'begin'; readonly task: DriveTask; readonly lent: Readonly<Record<string, string>> }
    | { readonly kind: 'answered'; readonly answer: TurnAnswer }
    | { readonly kind: 'performed'; readonly call: number; readonly result: StepResult<JsonValue> }
    /** the host could not do it, and knows why */
    | { readonly kind: 'not_performed'; readonly call: number }
    | { readonly kind: 'overtake'; readonly history: History<JsonValue> }
    | { readonly kind: 'cancel'; readonly reason: string }
    | { readonly kind: 'hand_on' }
    | { readonly kind: 'kill'; readonly message: string }
  );

const drive = z.int();
const message = z.string().transform((text) => text.slice(0, answerLimits.message));

export const fromProgram = z.discriminatedUnion('kind', [
  /** the module is imported and exports workflows */
  z.object({ kind: z.literal('loaded') }),
  z.object({ kind: z.literal('unloadable'), message }),
  z.object({ kind: z.literal('printed'), drive: drive.optional(), stream: z.enum(['stdout', 'stderr']), text: z.string() }),
  /** the thread ends now, by what this drive's code did */
  z.object({ kind: z.literal('breaking'), drive: drive.optional() }),
  /** `turn`, `command` and `end` are JSON, and parsed each by its own schema */
  z.object({ kind: z.literal('turn'), drive, turn: z.string() }),
  z.object({ kind: z.literal('perform'), drive, call: z.int(), command: z.string() }),
  z.object({ kind: z.literal('ended'), drive, end: z.string() }),
]);

export type FromProgram = z.input<typeof fromProgram>;
