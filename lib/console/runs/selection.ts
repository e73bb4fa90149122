/** The runs of a list that are selected. */
export interface Selection {
  readonly selected: ReadonlySet<string>;
  readonly onToggle: (runId: string) => void;
}
