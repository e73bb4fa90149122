import * as z from 'zod';
import { unreachable } from '../../engine/invariant.ts';
import type { RunWorker, WorkerLogLine } from '../../contract/worker-program.ts';
import { type Action, CliError, type Outcome, type CommandContext, exitCodes } from '../command.ts';
import { integerBetween, file, parseOptions } from '../parse-command-line.ts';
import { maxConcurrency, findProject } from '../project/project.ts';
import { defaultConcurrency } from './defaults.ts';
import { loadWorker } from './worker-program.ts';
import { workerSettings } from './worker-settings.ts';

/** SQS hides a message for twelve hours at most, and one that is not spoken of for longer than this waits in vain. */
const maxVisibilityTimeoutSeconds = 900;
const maxDrainSeconds = 3_600;

const shape = z.object({
  settings: file.optional(),
  profile: z.string().optional(),
  concurrency: integerBetween(1, maxConcurrency).optional(),
  visibilityTimeoutSeconds: integerBetween(3, maxVisibilityTimeoutSeconds),
  drainSeconds: integerBetween(1, maxDrainSeconds),
});

export const startWorker: Action = (commandLine, context) => createStartWorker(loadWorker)(commandLine, context);

/** @param load whoever does the work */
export const createStartWorker =
  (load: () => Promise<RunWorker>): Action =>
  async (commandLine, context) => {
    const {
      settings,
      profile,
      concurrency: requestedConcurrency,
      visibilityTimeoutSeconds,
      drainSeconds,
    } = parseOptions(commandLine, shape);
    const project = await findProject(context);
    const { variables, source } = workerSettings(context, { file: settings, profile, projectProfile: project?.profile });
    const concurrency = requestedConcurrency ?? project?.concurrency ?? defaultConcurrency;
    const log = createLogger(context);
    log({ level: 'info', message: `works for ${source}, ${concurrency} at once` });
    const runWorker = await load();
    const end = await runWorker({ variables, concurrency, visibilityTimeoutSeconds, drainSeconds, stop: context.signal, log });
    switch (end.kind) {
      case 'finished':
        return outcomeOf(end);
      case 'refused':
        throw new CliError('aws', `AWS: ${end.message}`);
      case 'unreachable':
        throw new CliError('aws', `AWS: ${end.message}`, exitCodes.unreachable);
      case 'missing_variables':
        throw new CliError('worker_settings', `${source} does not say ${end.names.join(', ')}.`, exitCodes.usage);
      default:
        return unreachable(end);
    }
  };

const outcomeOf = ({ completed, remaining }: { readonly completed: number; readonly remaining: number }): Outcome => ({
  data: { completed, remaining },
  text: `${completed} done${remaining === 0 ? '' : `, ${remaining} left to other workers`}.`,
});

/** A line for people, or with `--json` one for programs; what code prints is behind who it is of. */
const createLogger =
  ({ isJson, log, now }: Pick<CommandContext, 'isJson' | 'log' | 'now'>) =>
  ({ level, message, ...facts }: WorkerLogLine): void => {
    const at = new Date(now()).toISOString();
    if (isJson) return log(JSON.stringify({ at, level, message, ...facts }));
    const formattedFacts = Object.entries(facts).map(
      ([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    );
    log(`${at} ${level.padEnd(5)} ${message}${formattedFacts.join('')}`);
  };
