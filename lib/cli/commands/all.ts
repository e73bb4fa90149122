/** Registers every command, in the order of `--help`. Import nothing heavy here: `--help` loads all of it. */
import type { Command } from 'commander';
import type { CreateHandler, Register } from '../command.ts';
import { registerClock, registerDeployments, registerProject, registerWorker } from './code.ts';
import { registerDefinitions } from './definitions.ts';
import { registerDiagnostics, registerOwnership } from './diagnostics.ts';
import { registerKeys, registerProfiles } from './keys.ts';
import { registerRuns, registerSignals } from './runs.ts';
import { registerSchedules } from './schedules.ts';

const registers: readonly Register[] = [
  registerRuns,
  registerDefinitions,
  registerSchedules,
  registerSignals,
  registerProject,
  registerClock,
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
