/** The routes of the paths that the function `api` serves. At some of them, the gateway sends one method to another function. */
import type { Route } from './route.ts';
import { runRoutes, signalRoutes, tagRoutes, testRunRoutes, ticketRoutes } from './run-routes.ts';
import { healthRoutes } from './service-routes.ts';
import { workflowRoutes } from './workflow-routes.ts';

export const apiRoutes = [
  ...healthRoutes,
  ...workflowRoutes,
  ...runRoutes,
  ...ticketRoutes,
  ...signalRoutes,
  ...tagRoutes,
  ...testRunRoutes,
] as const satisfies readonly Route[];
