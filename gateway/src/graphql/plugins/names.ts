// Names lists `memories` instead of `allMemories`, and functions that return a list without the suffix List.
export const namesPlugin: GraphileConfig.Plugin = {
  name: 'NamesPlugin',
  version: '1.0.0',
  inflection: {
    replace: {
      _allRows(_previous, _options, resource) {
        return this.camelCase(this.pluralize(this._singularizedResourceName(resource)));
      },
      customQueryListField(_previous, _options, details) {
        return this.customQueryField(details);
      },
    },
  },
};
