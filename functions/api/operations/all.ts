/** Everything the API function answers. */
import type { Operations } from '../operation.ts';
import type { Tools } from '../tools.ts';
import { runOperations } from './runs.ts';
import { healthOperations } from './service.ts';
import { signalOperations } from './signals.ts';
import { tagOperations } from './tags.ts';
import { testRunOperations } from './test-runs.ts';
import { ticketOperations } from './tickets.ts';
import { workflowOperations } from './workflows.ts';
import { worldOperations } from './world.ts';

export const apiOperations = (tools: Tools): Operations<'api'> => ({
  ...healthOperations(tools),
  ...workflowOperations(tools),
  ...runOperations(tools),
  ...signalOperations(tools),
  ...ticketOperations(tools),
  ...testRunOperations(tools),
  ...worldOperations(tools),
  ...tagOperations(tools),
});
