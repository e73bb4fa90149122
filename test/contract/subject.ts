/** One implementation of a port that is held to the port's contract. */
export interface Opened<Port> {
  readonly port: Port;
  readonly close: () => Promise<void>;
}

export interface Subject<Port> {
  readonly name: string;
  readonly open: () => Promise<Opened<Port>>;
}
