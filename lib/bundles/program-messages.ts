/** What travels between this process and the thread of a deployment of code. What the thread says is parsed. */
import * as z from 'zod';
import type { History, StepResult, CommandBatchResult } from '../engine/durable/command-batch.ts';
import type { DeploymentId } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { WorkflowTask } from '../ports/programs.ts';
import { responseLimits } from './response-limits.ts';

/** What the thread is started with. */
export interface ProgramThreadData {
  readonly deploymentId: DeploymentId;
  /** file URL of the module that exports `workflows` */
  readonly program: string;
}

export type ToProgram = { readonly taskId: number } &
  /** `lent` goes into the thread's variables first */
  (
    | { readonly kind: 'start'; readonly task: WorkflowTask; readonly credentialVariables: Readonly<Record<string, string>> }
    | { readonly kind: 'batch_result'; readonly result: CommandBatchResult }
    | { readonly kind: 'performed'; readonly call: number; readonly result: StepResult<JsonValue> }
    /** the host could not do it, and knows why */
    | { readonly kind: 'perform_failed'; readonly call: number }
    | { readonly kind: 'replace_history'; readonly history: History<JsonValue> }
    | { readonly kind: 'cancel'; readonly reason: string }
    | { readonly kind: 'hand_off' }
    | { readonly kind: 'kill'; readonly message: string }
  );

const taskId = z.int();
const message = z.string().transform((text) => text.slice(0, responseLimits.message));

export const fromProgram = z.discriminatedUnion('kind', [
  /** the module is imported and exports workflows */
  z.object({ kind: z.literal('loaded') }),
  z.object({ kind: z.literal('unloadable'), message }),
  z.object({ kind: z.literal('printed'), taskId: taskId.optional(), stream: z.enum(['stdout', 'stderr']), text: z.string() }),
  /** the thread ends now, by what this drive's code did */
  z.object({ kind: z.literal('breaking'), taskId: taskId.optional() }),
  /** `turn`, `command` and `end` are JSON, and parsed each by its own schema */
  z.object({ kind: z.literal('batch'), taskId, batch: z.string() }),
  z.object({ kind: z.literal('perform'), taskId, call: z.int(), command: z.string() }),
  z.object({ kind: z.literal('ended'), taskId, end: z.string() }),
]);

export type FromProgram = z.input<typeof fromProgram>;
