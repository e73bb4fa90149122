/** Messages between this process and the threads that run deployed code. A thread runs untrusted code, so its messages are parsed. */
import * as z from 'zod';
import type { History, StepResult, CommandBatchResult } from '../engine/durable/command-batch.ts';
import type { DeploymentId } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { WebhookRequest } from '../ports/bundles.ts';
import type { WorkflowTask } from '../ports/programs.ts';
import type { WorldAnswer } from '../ports/world-calls.ts';
import { responseLimits } from './code-output.ts';

const message = z.string().transform((text) => text.slice(0, responseLimits.message));

/** `workerData` of a thread with code workflows. */
export interface ProgramThreadData {
  readonly deploymentId: DeploymentId;
  /** file URL of the module that exports `workflows` */
  readonly program: string;
}

export type ToProgram = { readonly taskId: number } &
  /** `credentialVariables` are set in the thread's environment first */
  (
    | { readonly kind: 'start'; readonly task: WorkflowTask; readonly credentialVariables: Readonly<Record<string, string>> }
    | { readonly kind: 'batch_result'; readonly result: CommandBatchResult }
    | { readonly kind: 'performed'; readonly call: number; readonly result: StepResult<JsonValue> }
    /** the host failed and has recorded the reason */
    | { readonly kind: 'perform_failed'; readonly call: number }
    | { readonly kind: 'replace_history'; readonly history: History<JsonValue> }
    | { readonly kind: 'cancel'; readonly reason: string }
    | { readonly kind: 'hand_off' }
    | { readonly kind: 'kill'; readonly message: string }
  );

const taskId = z.int();

export const fromProgram = z.discriminatedUnion('kind', [
  /** the module is imported, and its `workflows` export is valid */
  z.object({ kind: z.literal('loaded') }),
  z.object({ kind: z.literal('unloadable'), message }),
  z.object({ kind: z.literal('printed'), taskId: taskId.optional(), stream: z.enum(['stdout', 'stderr']), text: z.string() }),
  /** the code of this workflow task is ending the thread */
  z.object({ kind: z.literal('breaking'), taskId: taskId.optional() }),
  /** `batch`, `command` and `end` are JSON texts, each parsed by its own schema */
  z.object({ kind: z.literal('batch'), taskId, batch: z.string() }),
  z.object({ kind: z.literal('perform'), taskId, call: z.int(), command: z.string() }),
  z.object({ kind: z.literal('ended'), taskId, end: z.string() }),
]);

export type FromProgram = z.input<typeof fromProgram>;

/** What a thread needs to know of an app of the Workflow DevKit. */
export interface DevKitTerms {
  readonly deploymentId: DeploymentId;
  /** of the app's SDK */
  readonly specVersion: number;
}

/** A request to a thread with HTTP bundles. */
export interface ThreadRequest {
  readonly kind: 'request';
  readonly id: number;
  /** present: the bundle is one of the Workflow DevKit */
  readonly devKit?: DevKitTerms;
  /** milliseconds since the epoch; the thread is ended then */
  readonly endsAt: number;
  /** set in the thread's environment before the bundle is called */
  readonly credentialVariables: Readonly<Record<string, string>>;
  /** the bundle's file URL */
  readonly bundle: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text */
  readonly body: string;
}

/** A request for a webhook of an app of the Workflow DevKit. */
export interface ThreadWebhook extends Omit<ThreadRequest, 'kind' | 'headers' | 'url' | 'body'> {
  readonly kind: 'webhook';
  readonly token: string;
  readonly request: WebhookRequest;
}

/** The answer to a call of the World. */
export interface WorldAnswered {
  readonly kind: 'world_answered';
  readonly call: number;
  /** `failed`: the process could not make the call */
  readonly result: WorldAnswer | { readonly kind: 'failed'; readonly reason: 'transport'; readonly message: string };
}

export type ToThread = ThreadRequest | ThreadWebhook | WorldAnswered;

const id = z.int();

export const fromThread = z.discriminatedUnion('kind', [
  /** the bundle is imported; its POST is called next */
  z.object({ kind: z.literal('loaded'), id }),
  z.object({ kind: z.literal('printed'), stream: z.enum(['stdout', 'stderr']), text: z.string() }),
  z.object({ kind: z.literal('responded'), id, status: z.int(), body: z.string() }),
  z.object({
    kind: z.literal('webhook_answered'),
    id,
    status: z.int().min(200).max(599),
    headers: z.record(z.string(), z.string()),
    body: z.instanceof(Uint8Array),
  }),
  z.object({ kind: z.literal('no_hook'), id }),
  z.object({ kind: z.literal('threw'), id, message }),
  z.object({ kind: z.literal('unloadable'), id, message }),
  /** `body` is a JSON text */
  z.object({ kind: z.literal('world_call'), call: z.int(), method: z.string().max(64), body: z.string() }),
]);

export type FromThread = z.input<typeof fromThread>;
