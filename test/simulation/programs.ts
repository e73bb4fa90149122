/** The author's code of simulated deployments: threads in virtual time, which live and die with the process that began them. */
import type { DeploymentId } from '../../lib/engine/ids.ts';
import type { WorkflowTaskHandle, WorkflowTaskHost, Programs } from '../../lib/ports/programs.ts';
import { startWorkflowTask } from '../../lib/program/start-workflow-task.ts';
import type { ProgramClock } from '../../lib/program/clock.ts';
import type { Process } from './process.ts';

/** A message between a thread and its host, there and back; in each direction they keep their order. */
const hopMs = 1;

/** @param readWorkflowDigests what the module of a deployment exports */
export function simulatedPrograms(process: Process, workflowsOf: (id: DeploymentId) => unknown): Programs {
  const clock: ProgramClock = {
    now: () => process.now(),
    waitUntilIdle: () => new Promise((resolve) => process.in(0, resolve)),
    sleep: (wait, signal) => process.sleep(wait, signal),
  };
  return {
    start: (_scope, { deploymentId }, task, host): WorkflowTaskHandle => {
      const drive = startWorkflowTask(workflowsOf(deploymentId), task, overThread(process, host), {
        deploymentId,
        clock,
        print: () => {},
      });
      const before = process.onDeath;
      process.onDeath = () => {
        before();
        void drive.kill('its process is dead');
      };
      return {
        ended: drive.ended,
        handOff: () => process.in(hopMs, () => drive.handOff()),
        kill: (message) => drive.kill(message),
        replaceHistory: (history) => process.in(hopMs, () => drive.replaceHistory(history)),
        cancel: (reason) => process.in(hopMs, () => drive.cancel(reason)),
      };
    },
  };
}

const overThread = (process: Process, host: WorkflowTaskHost): WorkflowTaskHost => ({
  commitBatch: (turn) => hop(process, () => host.commitBatch(turn)),
  perform: (command) => hop(process, () => host.perform(command)),
});

const hop = <Answer>(process: Process, ask: () => Promise<Answer>): Promise<Answer> =>
  new Promise((resolve, reject) => {
    process.in(hopMs, () => {
      ask().then(
        (answer) => process.in(hopMs, () => resolve(answer)),
        (thrown: unknown) => process.in(hopMs, () => reject(thrown)),
      );
    });
  });
