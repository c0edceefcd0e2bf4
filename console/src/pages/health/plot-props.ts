export interface Series {
  name: string;
  /** The number of a colour of the tokens: --series-1 … */
  colour: number;
  values: readonly (number | null)[];
}

export interface PlotProps {
  title: string;
  /** Seconds since 1970. */
  times: readonly number[];
  series: readonly Series[];
  format: (value: number) => string;
  /** Distances between the lines of the vertical axis, where powers of ten would be odd. */
  steps?: number[] | undefined;
  /** What is said where no minute has a value. */
  empty: string;
}
