import { createStore } from './store.ts';

export type Theme = 'auto' | 'light' | 'dark';
const SLOT = 'l9-memory.theme';
export const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];

const isTheme = (value: unknown): value is Theme => THEMES.includes(value as Theme);
const kept = localStorage.getItem(SLOT);

export const theme = createStore<Theme>(isTheme(kept) ? kept : 'auto');

export function applyTheme(): void {
  const chosen = theme.get();
  if (chosen === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}

export function setTheme(chosen: Theme): void {
  localStorage.setItem(SLOT, chosen);
  theme.set(chosen);
  applyTheme();
}
