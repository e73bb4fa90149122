/** Every command there is, in the order of `--help`. Nothing that is heavy may be imported from here. */
import type { Command } from 'commander';
import type { CreateHandler, Register } from '../command.ts';
import { register as care } from './diagnostics.ts';
import { register as deployments } from './deployments.ts';
import { register as keys } from './keys.ts';
import { register as lenses } from './lenses.ts';
import { register as ownership } from './ownership.ts';
import { register as profiles } from './profiles.ts';
import { register as project } from './project.ts';
import { register as queries } from './queries.ts';
import { register as runs } from './runs.ts';
import { register as schedules } from './schedules.ts';
import { register as signals } from './signals.ts';
import { register as worker } from './worker.ts';
import { register as workflows } from './workflows.ts';

const registers: readonly Register[] = [
  runs,
  workflows,
  lenses,
  queries,
  schedules,
  signals,
  project,
  deployments,
  worker,
  care,
  ownership,
  keys,
  profiles,
];

export function addCommands(program: Command, createHandler: CreateHandler): void {
  for (const register of registers) register(program, createHandler);
}
