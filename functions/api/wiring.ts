/** Wires the API function to the functions that execute jobs. */
import { functionClient } from '../../lib/aws/clients.ts';
import { settingsFrom } from '../../lib/aws/environment.ts';
import { JobFunctions } from '../../lib/aws/job-functions.ts';
import { once } from '../../lib/base/lazy.ts';
import type { JobCalls } from '../../lib/ports/jobs.ts';

/** Created by the first request that waits for its run: most requests do not. */
export function jobFunctions(): JobCalls {
  const functions = once(() => {
    const { workerFunction: worker, codeFunction: code } = settingsFrom(process.env);
    return new JobFunctions(functionClient(), { worker, code });
  });
  return { call: (call, signal) => functions().call(call, signal) };
}
