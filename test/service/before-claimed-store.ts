import type { Deps } from '../../lib/service/deps.ts';
import { overrideMethods } from './override-methods.ts';

/** Runs `work` between the search for a wait and the storing of its signal. */
export const beforeClaimedStore =
  (work: () => Promise<unknown>) =>
  (deps: Deps): Deps => ({
    ...deps,
    signals: overrideMethods(deps.signals, {
      storeClaimed: async (...stored) => {
        await work();
        return deps.signals.storeClaimed(...stored);
      },
    }),
  });
