// The colours of the console, as WebGL needs them: resolved, since it knows neither custom properties nor light-dark().
export interface Palette {
  ink: string;
  soft: string;
  line: string;
  accent: string;
  paper: string;
  open: string;
}

const TOKENS: Readonly<Record<keyof Palette, string>> = {
  ink: '--ink',
  soft: '--ink-soft',
  line: '--line-strong',
  accent: '--accent',
  paper: '--panel',
  open: '--series-3',
};

export function paletteOf(element: HTMLElement): Palette {
  const probe = document.createElement('span');
  element.append(probe);
  const entries = Object.entries(TOKENS).map(([name, token]) => {
    probe.style.color = `var(${token})`;
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  return Object.fromEntries(entries) as Palette;
}
