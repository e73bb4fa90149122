import * as z from 'zod';
import { unreachable } from '../../engine/invariant.ts';
import type { RunWorker, WorkerLine } from '../../contract/worker-program.ts';
import { type Action, CliFault, type Outcome, type Shell, exitCodes } from '../command.ts';
import { count, file, optionsIn } from '../given.ts';
import { mostConcurrency, projectHere } from '../project/project.ts';
import { defaultConcurrency } from './defaults.ts';
import { loadWorker } from './worker-program.ts';
import { workerSettings } from './worker-settings.ts';

/** SQS hides a message for twelve hours at most, and one that is not spoken of for longer than this waits in vain. */
const mostHoldSeconds = 900;
const mostDrainSeconds = 3_600;

const shape = z.object({
  settings: file.optional(),
  profile: z.string().optional(),
  concurrency: count(1, mostConcurrency).optional(),
  holdSeconds: count(3, mostHoldSeconds),
  drainSeconds: count(1, mostDrainSeconds),
});

export const startWorker: Action = (given, shell) => startBy(loadWorker)(given, shell);

/** @param load whoever does the work */
export const startBy =
  (load: () => Promise<RunWorker>): Action =>
  async (given, shell) => {
    const { settings, profile, concurrency: wanted, holdSeconds, drainSeconds } = optionsIn(given, shape);
    const project = await projectHere(shell);
    const { variables, source } = workerSettings(shell, { file: settings, profile, preferred: project?.profile });
    const concurrency = wanted ?? project?.concurrency ?? defaultConcurrency;
    const tell = teller(shell);
    tell({ level: 'info', message: `works for ${source}, ${concurrency} at once` });
    const runWorker = await load();
    const end = await runWorker({ variables, concurrency, holdSeconds, drainSeconds, stop: shell.signal, tell });
    switch (end.kind) {
      case 'worked':
        return outcomeOf(end);
      case 'refused':
        throw new CliFault('aws', `AWS: ${end.message}`);
      case 'unreachable':
        throw new CliFault('aws', `AWS: ${end.message}`, exitCodes.unreachable);
      case 'untold':
        throw new CliFault('worker_settings', `${source} does not say ${end.names.join(', ')}.`, exitCodes.usage);
      default:
        return unreachable(end);
    }
  };

const outcomeOf = ({ done, left }: { readonly done: number; readonly left: number }): Outcome => ({
  data: { done, left },
  text: `${done} done${left === 0 ? '' : `, ${left} left to other workers`}.`,
});

/** A line for people, or with `--json` one for programs; what code prints is behind who it is of. */
const teller =
  ({ isJson, note, now }: Pick<Shell, 'isJson' | 'note' | 'now'>) =>
  ({ level, message, ...facts }: WorkerLine): void => {
    const at = new Date(now()).toISOString();
    if (isJson) return note(JSON.stringify({ at, level, message, ...facts }));
    const told = Object.entries(facts).map(
      ([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    );
    note(`${at} ${level.padEnd(5)} ${message}${told.join('')}`);
  };
