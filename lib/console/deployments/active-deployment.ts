/** The deployment on which new runs of an app start, and open runs as text. */

export interface ActiveDeployment {
  readonly deploymentId: string;
  readonly workflows: readonly string[];
}

/** The server counts no further. */
const maxCounted = 100;

export const countText = (openRuns: number): string => (openRuns >= maxCounted ? `${maxCounted}+` : String(openRuns));

export const runsText = (openRuns: number): string => `${countText(openRuns)} open ${openRuns === 1 ? 'run' : 'runs'}`;
