/** Everything the API function answers. */
import type { Operations } from '../operation.ts';
import type { Tools } from '../tools.ts';
import { auditOperations } from './audit.ts';
import { keyOperations } from './keys.ts';
import { runOperations } from './runs.ts';
import { serviceOperations } from './service.ts';
import { signalOperations } from './signals.ts';
import { tagOperations } from './tags.ts';
import { testRunOperations } from './test-runs.ts';
import { ticketOperations } from './tickets.ts';
import { workflowOperations } from './workflows.ts';
import { worldOperations } from './world.ts';

export const apiOperations = (tools: Tools): Operations<'api'> => ({
  ...serviceOperations(tools),
  ...workflowOperations(tools),
  ...runOperations(tools),
  ...keyOperations(tools),
  ...auditOperations(tools),
  ...signalOperations(tools),
  ...ticketOperations(tools),
  ...testRunOperations(tools),
  ...worldOperations(tools),
  ...tagOperations(tools),
});
