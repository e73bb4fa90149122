/** Registers every command, in the order of `--help`. Import nothing heavy here: `--help` loads all of it. */
import type { Command } from 'commander';
import type { CreateHandler, Register } from '../command.ts';
import { registerDefinitions } from './definitions.ts';
import { registerDeployments } from './deployments.ts';
import { registerDiagnostics } from './diagnostics.ts';
import { registerKeys } from './keys.ts';
import { registerOwnership } from './ownership.ts';
import { registerProfiles } from './profiles.ts';
import { registerProject } from './project.ts';
import { registerRuns, registerSignals } from './runs.ts';
import { registerSchedules } from './schedules.ts';
import { registerWorker } from './worker.ts';

const registers: readonly Register[] = [
  registerRuns,
  registerDefinitions,
  registerSchedules,
  registerSignals,
  registerProject,
  registerDeployments,
  registerWorker,
  registerDiagnostics,
  registerOwnership,
  registerKeys,
  registerProfiles,
];

export function addCommands(program: Command, createHandler: CreateHandler): void {
  for (const register of registers) register(program, createHandler);
}
