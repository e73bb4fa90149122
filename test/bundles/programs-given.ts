/** Fixture: deployments with a module from the test, threads that run it, and a host that records requests. */
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { packArchive } from '../../lib/artifact/pack-archive.ts';
import type { PrintedLine } from '../../lib/bundles/bundle-thread.ts';
import { type ProgramHost, ThreadPrograms } from '../../lib/bundles/thread-programs.ts';
import { type ThreadSlotSettings, ThreadSlots } from '../../lib/bundles/thread-slots.ts';
import type { History, OpenStep, CommandBatch, CommandBatchResult } from '../../lib/engine/durable/command-batch.ts';
import { commitNo, deploymentId, firstAttempt, runId } from '../../lib/engine/ids.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import { instant, minutes, after } from '../../lib/engine/time.ts';
import { MemoryArtifacts } from '../../lib/memory/deployments.ts';
import { type Manifest, defaultApp } from '../../lib/ports/deployments.ts';
import { type WorkflowTaskHandle, type WorkflowTaskHost, type WorkflowTask, programPath } from '../../lib/ports/programs.ts';
import { freshFolder, scope } from './given.ts';

const clock = { now: () => instant(Date.now()), sleep: async () => {} };

export const historyOf = (of: Partial<History<JsonValue>> = {}): History<JsonValue> => ({
  entries: [],
  priorResults: [],
  open: [],
  attempt: firstAttempt,
  stepAttempts: 0,
  ...of,
});

export const runIdOf = (number: number) => runId(`wrun_${String(number).padStart(26, '0')}`);

interface Driven extends WorkflowTaskHandle {
  readonly turns: CommandBatch[];
  readonly sent: string[];
}

/** A host that records batches. By default it commits each batch, and the run ends when the code returns or throws. */
export const recordingHost = (
  answer?: (turn: CommandBatch, number: number) => CommandBatchResult | Promise<CommandBatchResult>,
): WorkflowTaskHost & { readonly turns: CommandBatch[]; readonly sent: string[] } => {
  const turns: CommandBatch[] = [];
  const sent: string[] = [];
  return {
    turns,
    sent,
    commitBatch: async (turn) => {
      turns.push(turn);
      if (answer !== undefined) return answer(turn, turns.length);
      const isOver = turn.entries.some(({ kind }) => kind === 'returned' || kind === 'threw');
      return { kind: 'committed', commit: commitNo(turns.length + 1), run: isOver ? 'ended' : 'open' };
    },
    perform: async (command) => {
      sent.push(command.signal);
      return { status: 'completed', output: null, endedAt: clock.now() };
    },
  };
};

/** `workflow(name, fn, version?)`, with the mark of the SDK. */
const sdk = `const workflow = (name, fn, version) => ({ spec: { name, ...(version === undefined ? {} : { version }) }, fn, [Symbol.for('stepwell.workflow')]: 1 });\n`;
export const programOf = (body: string): string => `${sdk}export const workflows = [workflow('greet', ${body})];`;

export function programsOf(
  settings: Pick<ThreadSlotSettings, 'limits'> &
    Partial<Pick<ProgramHost, 'memoryMb' | 'variables' | 'readCredentialVariables' | 'killTimeoutMs' | 'file'>> & {
      readonly reads?: () => void;
    } = {},
) {
  const artifacts = new MemoryArtifacts();
  const printed: PrintedLine[] = [];
  const { limits, reads, ...host } = settings;
  const threadSlots = new ThreadSlots({
    artifacts: {
      presignUpload: artifacts.presignUpload.bind(artifacts),
      put: artifacts.put.bind(artifacts),
      remove: artifacts.remove.bind(artifacts),
      read: (name, limit) => {
        reads?.();
        return artifacts.read(name, limit);
      },
    },
    folder: join(freshFolder(), 'artifacts'),
    ...(limits === undefined ? {} : { limits }),
  });
  const programs = new ThreadPrograms({
    threadSlots,
    clock,
    memoryMb: 128,
    print: (line) => printed.push(line),
    file: new URL('stand-in-program.ts', import.meta.url),
    ...host,
  });
  onTestFinished(() => threadSlots.stop());
  return {
    programs,
    slots: threadSlots,
    artifacts,
    printed,
    async deploy(name: string, source: string, path: string = programPath): Promise<Manifest> {
      const packed = await packArchive(new Map([[path, Buffer.from(source)]]));
      const manifest: Manifest = {
        deploymentId: deploymentId(name),
        specVersion: 1,
        app: defaultApp,
        runtime: 'code',
        workflows: [{ name: 'greet' }],
        steps: [],
        files: packed.files,
        artifact: packed.artifact,
      };
      await artifacts.put({ scope, deploymentId: manifest.deploymentId, sha256: packed.artifact.sha256 }, packed.archive);
      return manifest;
    },
    begin(
      manifest: Manifest,
      of: {
        readonly run?: number;
        readonly input?: JsonValue;
        readonly open?: readonly OpenStep[];
        readonly workflow?: string;
        readonly entries?: History<JsonValue>['entries'];
      } = {},
      host = recordingHost(),
    ): Driven {
      const now = clock.now();
      const task: WorkflowTask = {
        run: {
          runId: runIdOf(of.run ?? 1),
          workflowName: of.workflow ?? 'greet',
          version: null,
          createdAt: now,
          deadlineAt: after(now, minutes(60)),
        },
        replayVersion: 1,
        input: of.input ?? null,
        history: historyOf({ open: of.open ?? [], entries: of.entries ?? [] }),
        handOffAt: after(now, minutes(10)),
      };
      const drive = programs.start(scope, manifest, task, host);
      return {
        ended: drive.ended,
        replaceHistory: (history) => drive.replaceHistory(history),
        cancel: (reason) => drive.cancel(reason),
        handOff: () => drive.handOff(),
        kill: (message) => drive.kill(message),
        turns: host.turns,
        sent: host.sent,
      };
    },
  };
}
