/** Runs the unmodified conformance suite of the Workflow DevKit against the embedded cloud, with the template and its permissions. */
import { dirname, delimiter } from 'node:path';
import { createTestSuite } from '@workflow/world-testing';
import { afterAll, beforeAll } from 'vitest';
import { type InProcessCloud, startInProcessCloud } from '../e2e/in-process-cloud.ts';

/** The suite starts a server for each test in a process of its own, with the environment of this process and by the name `node`. */
export function registerSuite(): void {
  let served: InProcessCloud;
  beforeAll(async () => {
    served = await startInProcessCloud({ 'stepwell:allowLocalhost': true });
    process.env['STEPWELL_URL'] = served.url;
    process.env['STEPWELL_API_KEY'] = served.apiKey;
    process.env['PATH'] = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  });
  afterAll(async () => {
    await served.stop();
  });
}

/** The suite resolves this path against the working directory. */
export const suite = (): void => createTestSuite('./test/devkit/suite-world.ts');
